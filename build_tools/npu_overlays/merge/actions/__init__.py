"""The actions on one symbol, one module each: a site → the splices that carry the action out."""
