"""Secrets are kept out of what goes to a model, to a disk and to a screen."""

from maia_kernel.secrets.mask import Mask, adds_masks, is_mask, masks_in
from maia_kernel.secrets.shapes import Found, find, growing

__all__ = ["Found", "Mask", "adds_masks", "find", "growing", "is_mask", "masks_in"]
