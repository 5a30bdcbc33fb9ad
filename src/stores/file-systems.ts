/** Tells local file systems, on which SQLite's write-ahead log is safe, from network ones, on which it is not. */

/** `network` breaks the shared memory and the locks of the log, `fuse` and `unknown` may. */
type FileSystemKind = 'local' | 'network' | 'fuse' | 'unknown';

export type FileSystem = { readonly name: string; readonly kind: FileSystemKind };

/** Magic numbers of statfs(2) on Linux. */
const fileSystems: ReadonlyMap<number, FileSystem> = new Map([
  [0x6969, { name: 'NFS', kind: 'network' }],
  [0x517b, { name: 'SMB', kind: 'network' }],
  [0xfe534d42, { name: 'SMB2', kind: 'network' }],
  [0xff534d42, { name: 'CIFS', kind: 'network' }],
  [0x01021997, { name: '9p', kind: 'network' }],
  [0x65735546, { name: 'FUSE', kind: 'fuse' }],
  [0xef53, { name: 'ext4', kind: 'local' }],
  [0x58465342, { name: 'XFS', kind: 'local' }],
  [0x9123683e, { name: 'Btrfs', kind: 'local' }],
  [0x2fc12fc1, { name: 'ZFS', kind: 'local' }],
  [0xf2f52010, { name: 'F2FS', kind: 'local' }],
  [0xca451a4e, { name: 'bcachefs', kind: 'local' }],
  [0x3153464a, { name: 'JFS', kind: 'local' }],
  [0x01021994, { name: 'tmpfs', kind: 'local' }],
  [0x858458f6, { name: 'ramfs', kind: 'local' }],
  [0x794c7630, { name: 'overlayfs', kind: 'local' }],
]);

/** Node reads the number as signed on some platforms. */
export const fileSystemOf = (magic: number): FileSystem =>
  fileSystems.get(magic >>> 0) ?? { name: `0x${(magic >>> 0).toString(16)}`, kind: 'unknown' };
