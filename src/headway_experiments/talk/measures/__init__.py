"""What is measured for the claims of the talk, from run folders alone."""
