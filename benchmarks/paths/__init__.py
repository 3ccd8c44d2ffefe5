"""Path queries measured (SHARP, sections 2.3 and 6): questions over a graph, under bounds, with and without sharing."""
