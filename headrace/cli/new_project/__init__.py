"""`headrace new`: writes a project from the templates in this folder."""
