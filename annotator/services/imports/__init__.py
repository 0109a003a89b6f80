"""File imports: readers, research material, judgments."""
