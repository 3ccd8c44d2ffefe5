"""Everything that is drawn: SVG elements, charts, time lines, automata, graphs."""
