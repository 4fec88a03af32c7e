"""The durable state of an application: immutable objects, and one numbered log that says which of them count."""
