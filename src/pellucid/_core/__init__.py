"""What every room stands on, and what knows no room: kernels, array types, threads, checks, files, progress, Ctrl-C."""
