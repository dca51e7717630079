/** Whether there is room for one item more that refers to another. */
import type { GuardedCreate } from '../../plan/guarded.ts'
import type { SqlValue } from '../values.ts'
import { boundValue, countSql, requireRoom } from '../write/room.ts'
import type { Connection } from './connection.ts'

/** One transaction at a time writes, so what it counts stays. */
export function roomRun(shape: GuardedCreate, connection: Connection): (values: readonly SqlValue[]) => void {
  const { collection, most } = shape
  if (most === undefined) return () => {}
  const statement = connection.prepare(countSql(collection, most))
  return values => {
    const row = statement.get({ args: [], userId: null, slots: [boundValue(shape, values)] })
    requireRoom(most, row?.[0])
  }
}
