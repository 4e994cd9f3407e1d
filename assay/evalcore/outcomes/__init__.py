"""What a person says of an item: a class, a number or a set of tags."""
