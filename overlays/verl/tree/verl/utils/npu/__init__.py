"""verl's behaviour on Ascend NPUs; a module here is imported only by the code that needs it."""
