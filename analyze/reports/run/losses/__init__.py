"""Whether losses of a run are continuous or bursty: their places in the stream, and the test over transfers."""
