/** How a whole track is squeezed into one strip. */

/** It is drawn from at most so many rows of pixels. */
export const HEAT_ROWS = 12;

/** Deeper lanes are not looked at for it. */
export const HEAT_LANES = 128;
