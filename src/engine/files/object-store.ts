/** Where the bytes of files are. Objects never change: a key is stored once. */

export interface ObjectStore {
  /**
   * Stores an object. Durable once it resolves. If it rejects, or the process ends, nothing is stored under the key. Rejects with
   * UNAVAILABLE if there is no space.
   */
  put(key: string, bytes: AsyncIterable<Buffer>): Promise<void>
  /** Opens an object: its bytes from `first` to `last`, both included. Rejects if there is none. They must be read or stopped. */
  read(key: string, first: number, last: number): Promise<AsyncIterable<Buffer>>
  /** Removes an object with all that an interrupted `put` has left. It may be missing. Durable once it resolves. */
  remove(key: string): Promise<void>
  /** Says which database may remove objects; undefined if none is said to. Rejects if this is no longer the store that was opened. */
  readClaim(): Promise<string | undefined>
  /** Replaces the claim. With `isFirst`, an existing one stays. Durable once it resolves. */
  writeClaim(text: string, isFirst: boolean): Promise<void>
  /** Where the claim is, for operators. */
  readonly claimPlace: string
}
