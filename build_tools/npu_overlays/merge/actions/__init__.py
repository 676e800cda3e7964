"""What is done to one symbol, one module an action: a site → the splices that do it there."""
