"""Recording packets, and what the host knew meanwhile, with Python 3.9 and the system's libpcap alone."""
