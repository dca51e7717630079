/**
 * Sessions with stored values, which the writes of bookings keep. As a program: writes bookings until it is killed. Argument: the
 * database.
 */
import { user } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import { createPlan, deleteShape, updateShape } from '../../../src/engine/plan/system-plans.ts'
import { openPostgres } from '../../../src/engine/store/postgres/postgres.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import {
  anyone,
  boolean,
  collection,
  count,
  field,
  integer,
  model,
  nobody,
  relation,
  sum,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { IndexDeclaration } from '../../../src/model/declaration.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
export const published = { asSystem: true, stored: true } as const
const open = field('cancelled').eq(false)

export const bookings = (fields: object = {}, rules: object = access) =>
  collection({
    fields: {
      cancelled: boolean({ default: false }),
      seats: integer({ default: 1, min: 0, max: 100 }),
      session_id: relation('sessions', { inverse: 'bookings', optional: true, onDelete: 'cascade' }),
      ...fields,
    },
    access: rules,
  })

export const counted = (where = open) => ({
  booked: count('bookings', { where, ...published }),
  seats: sum('bookings', 'seats', published),
})

export const modelWith = (
  computed: object,
  child = bookings(),
  indexes: readonly IndexDeclaration[] = [],
  rules: object = access,
) =>
  checkModel(
    model({
      sessions: collection({
        fields: { name: integer({ default: 0 }) },
        computed,
        indexes,
        access: rules,
      } as never),
      bookings: child,
    } as never),
  )

export const stored = modelWith(counted())
/** With bookings that no caller can read. */
export const hiding = (computed: object) =>
  modelWith(computed, bookings({}, { read: nobody, create: anyone }), [], { read: anyone })

export const sessions = 3

const caller = user(1, 'user', 'all')
const writers = 16

if (process.argv[1] === import.meta.filename) {
  const [url = ''] = process.argv.slice(2)
  const store = url.startsWith('postgres')
    ? await openPostgres(stored, { url })
    : await openSqlite(stored, { file: url })
  const guard = createGuard(stored)
  const first = await store.changes.last()
  if (first === 0)
    for (let n = 0; n < sessions; n++) await store.write(guard(createPlan('sessions', {}, {}), caller))
  process.stdout.write('writing\n')
  const write = async (at: number) => {
    for (let n = at; ; n++) {
      const session_id = 1 + (n % sessions)
      const { id } = await store.write(
        guard(createPlan('bookings', { session_id, seats: n % 7 }, {}), caller),
      )
      const shape = updateShape('bookings', ['session_id', 'seats'])
      await store.write(guard({ shape, args: [id, 1 + ((n + 1) % sessions), n % 5] }, caller))
      if (n % 2 === 0) await store.write(guard({ shape: deleteShape('bookings'), args: [id] }, caller))
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, at) => write(at)))
}
