"""Names, bases and the order of classes, as the model of a tree knows them."""
