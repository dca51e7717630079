/** Three processes behind one address, which meet one scenario after the other. Each finds the database empty. */
import { after } from 'node:test'
import { ApiError } from '../../../src/errors.ts'
import { checkModel } from '../../../src/model/check.ts'
import type { Declaration } from '../../../src/model/declaration.ts'
import type { Model } from '../../../src/model/model.ts'
import type { Run } from '../../../src/plan/run.ts'
import { system } from '../../../src/principal.ts'
import { query } from '../../databases/postgres.ts'
import type { Setup } from '../../setups/setup.ts'
import { type Bench, createRun, dumpCollection, type OpenBench } from './bench.ts'
import { benchOver } from './http-bench.ts'

async function idsOf(model: Model, run: Run, name: string): Promise<readonly number[]> {
  const text = await dumpCollection(model, run, name)
  const rows: readonly { readonly id: number }[] = JSON.parse(text.slice(text.indexOf(' ')))
  return rows.map(({ id }) => id)
}

async function remove(run: Run, collection: string, id: number): Promise<void> {
  try {
    const shape = { kind: 'delete', collection, id: 0, ifMatch: undefined } as const
    await run.write({ shape, args: [id] }, system)
  } catch (error) {
    // It went with another that it refers to.
    if (!(error instanceof ApiError && error.code === 'NOT_FOUND')) throw error
  }
}

/** Removes every item as Portico would, so that the nodes notice, and counts their ids from 1 again. */
async function empty(model: Model, run: Run, url: string): Promise<void> {
  // What refers to others stands behind them, mostly.
  const names = [...model.collections.keys()].reverse()
  for (const name of names) {
    const ids = await idsOf(model, run, name)
    await Promise.all(ids.map(id => remove(run, name, id)))
  }
  await query(url, names.map(name => `ALTER SEQUENCE "${name}_id_seq" RESTART`).join(';'))
}

async function openNodes(setup: Setup, declaration: Declaration) {
  const model = checkModel(declaration)
  const place = await setup.open()
  try {
    const served = await place.serve(declaration, { rateLimit: 'off' })
    const store = await place.openStore(model)
    const run = createRun(model, store)
    return {
      async bench(): Promise<Bench> {
        await empty(model, run, place.database)
        return benchOver({ model, store, url: async () => served.url, close: async () => {} })
      },
      async close() {
        await store.close()
        await served.close()
        await place.close()
      },
    }
  } catch (error) {
    await place.close()
    throw error
  }
}

/** Within a suite, at whose end everything is closed. */
export function nodesBench(setup: Setup, declaration: Declaration): OpenBench {
  let opened: ReturnType<typeof openNodes> | undefined
  after(async () => {
    const nodes = await opened?.catch(() => undefined)
    await nodes?.close()
  })
  return async () => {
    opened ??= openNodes(setup, declaration)
    return (await opened).bench()
  }
}
