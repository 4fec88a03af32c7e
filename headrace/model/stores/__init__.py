"""The specs and interfaces of state stores: a spec describes a store, an interface has its methods."""
