/** The numbers that the two ends of a frame agree on, in the layout that every record log adapter keeps and sends. */

export const magic = 0x53564346;
export const version = 1;
export const codecs = { plain: 1, zstd: 2 };
export const headBytes = 48;
export const checksumBytes = 4;
