"""Where nodes and edges go, and the picture as SVG."""
