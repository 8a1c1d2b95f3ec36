"""PersonaConvBench: Reddit threads; 3.1 score sign, 3.2 score value, 3.3 next text."""
