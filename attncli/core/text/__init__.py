"""Text for people: escapes, widths, sentences, file names."""
