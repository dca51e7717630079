/** Records of a process that crashes. */
import { forwarding, type Records } from '../../src/base/records.ts'

type Write = <A extends readonly unknown[], T>(
  write: (...args: A) => Promise<T>,
) => (...args: A) => Promise<T>

/** Lets a write succeed if `succeeds` is true of its number: 1, 2 and so on. */
export function untilCrash(succeeds: (count: number) => boolean): Write {
  let writes = 0
  return write =>
    async (...args) => {
      writes += 1
      if (!succeeds(writes)) throw new Error('crashed')
      return write(...args)
    }
}

export function crashingRecords(records: Records, counted: Write): Records {
  return {
    ...forwarding(records),
    put: counted(record => records.put(record)),
    add: counted(record => records.add(record)),
    swap: counted((key, before, after) => records.swap(key, before, after)),
    consume: counted((kind, id) => records.consume(kind, id)),
    delete: counted((kind, id) => records.delete(kind, id)),
    deleteGrant: counted(grant => records.deleteGrant(grant)),
    deleteOwned: counted((owner, kinds) => records.deleteOwned(owner, kinds)),
  }
}
