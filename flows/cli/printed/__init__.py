"""The JSON that commands print: types, schemas, and the page of the documentation."""
