/** Three processes behind one address, shared by all harnesses of a suite. Each harness starts with an empty database. */
import { after } from 'node:test'
import { ApiError } from '../../../../src/base/errors.ts'
import { system } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../../../src/engine/plan/run.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { Declaration } from '../../../../src/model/declaration.ts'
import type { Model } from '../../../../src/model/model.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import { query } from '../../../setups/databases/postgres.ts'
import type { Setup } from '../../../setups/setup.ts'
import { dumpAll, type Harness, type OpenHarness } from './harness.ts'
import { httpHarness } from './http-harness.ts'

async function remove(run: Run, collection: string, id: number): Promise<void> {
  try {
    const shape = { kind: 'delete', collection, id: 0, ifMatch: undefined } as const
    await run.write({ shape, args: [id] }, system)
  } catch (error) {
    // Deleted by the cascade of another item.
    if (!(error instanceof ApiError && error.code === 'NOT_FOUND')) throw error
  }
}

/** Removes every item through Portico, so that the nodes notice, and restarts the ids at 1. */
async function empty(model: Model, run: Run, url: string): Promise<void> {
  const dumped = [...(await dumpAll(model, run))]
  // Referring collections mostly come last.
  for (const [name, text] of dumped.toReversed()) {
    const rows: readonly { readonly id: number }[] = JSON.parse(text.slice(text.indexOf(' ')))
    await Promise.all(rows.map(({ id }) => remove(run, name, id)))
  }
  await query(url, `SELECT ${dumped.map(([name]) => `setval('"${name}_id_seq"', 1, false)`).join()}`)
}

async function openNodes(setup: Setup, declaration: Declaration) {
  const model = checkModel(declaration)
  const resources: { close(): Promise<void> }[] = []
  const close = async () => {
    for (const resource of resources.toReversed()) await resource.close()
  }
  try {
    const deployment = await setup.open()
    resources.push(deployment)
    const service = await deployment.serve(declaration, { rateLimit: 'off' })
    resources.push(service)
    const store = await deployment.openStore(model)
    resources.push(store)
    const run = createRun(createGuard(model), store)
    const harness = async (): Promise<Harness> => {
      await empty(model, run, deployment.database)
      return httpHarness({ model, store, url: async () => service.url, close: async () => {} })
    }
    return { harness, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Closes everything at the end of the suite. */
export function nodesHarness(setup: Setup, declaration: Declaration): OpenHarness {
  let openedNodes: ReturnType<typeof openNodes> | undefined
  after(async () => {
    const nodes = await openedNodes?.catch(() => undefined)
    await nodes?.close()
  })
  return async () => {
    openedNodes ??= openNodes(setup, declaration)
    return (await openedNodes).harness()
  }
}
