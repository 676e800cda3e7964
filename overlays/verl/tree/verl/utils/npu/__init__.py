"""What verl does differently on Ascend NPUs; every module here is imported only by the places that need it."""
