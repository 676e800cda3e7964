"""What is given out: an index of wheels, the pages that say how to install them, the site, and the matrix of CI."""
