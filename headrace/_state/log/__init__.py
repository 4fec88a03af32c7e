"""The durable state of an application: immutable objects, and a numbered log that names the objects in use."""
