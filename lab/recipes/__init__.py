"""Numbers of networks and of the stopping rule, counted again; and single ideas, tried."""
