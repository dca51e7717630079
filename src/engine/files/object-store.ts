/** Where the bytes of files are. Objects never change: a key is stored once. */

export interface ObjectStore {
  /** Stores an object. Durable once it resolves. If it rejects, or the process ends, nothing is stored under the key. */
  put(key: string, bytes: AsyncIterable<Buffer>): Promise<void>
  /** The bytes from `first` to `last`, both included. Throws when it is read, if there is no such object. */
  read(key: string, first: number, last: number): AsyncIterable<Buffer>
  /** Removes an object with all that an interrupted `put` has left. It may be missing. */
  remove(key: string): Promise<void>
}
