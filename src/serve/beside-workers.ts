/** A service of several threads, for the program that has started them: its own thread answers no requests. */
import type { Settings } from '../config.ts'
import type { Model } from '../model/model.ts'
import { createGuard } from '../plan/guard.ts'
import type { Run } from '../plan/run.ts'
import type { Store } from '../store/store.ts'
import type { WorkerService } from '../workers.ts'
import { openData, serviceData } from './data.ts'
import type { Service } from './service.ts'
import { createRun, openStore } from './store.ts'

export function besideWorkers(workers: WorkerService, model: Model, settings: Settings): Service {
  const store = lazyStore(model, settings)
  const run = lazyRun(model, store.get)
  const refused = () => {
    throw new TypeError(
      'a service of several threads has no `handler` and no `upgrade`: set `workers` to 1, or send requests to its `url`.',
    )
  }
  return {
    ...workers,
    data: serviceData(run, openData(model, run)),
    handler: refused,
    upgrade: refused,
    async close() {
      await store.close()
      await workers.close()
    },
  }
}

/** A connection of this thread's own, as another process has one: opened when `data` is first used. */
function lazyStore(model: Model, settings: Settings) {
  let opened: Promise<Store> | undefined
  return {
    get() {
      opened ??= openStore(model, { ...settings, autoMigrate: false })
      return opened
    },
    close: async () => (await opened)?.close(),
  }
}

function lazyRun(model: Model, store: () => Promise<Store>): Run {
  const guard = createGuard(model)
  const run = async () => {
    const opened = await store()
    // Another process has written meanwhile.
    await opened.refresh()
    return createRun(guard, opened)
  }
  return {
    item: async (plan, principal) => (await run()).item(plan, principal),
    list: async (plan, principal) => (await run()).list(plan, principal),
    composite: async (plan, principal) => (await run()).composite(plan, principal),
    refusals: (plan, principal) => guard(plan, principal).shape.refusals,
    write: async (plan, principal, within) => (await run()).write(plan, principal, within),
    transaction: async program => (await run()).transaction(program),
  }
}
