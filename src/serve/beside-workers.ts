/** A service of several threads, for the program that has started them: its own thread answers no requests. */
import type { Model } from '../model/model.ts'
import type { WorkerService } from '../workers.ts'
import { dataAs, type ServiceData, type UserReference } from './data.ts'
import type { OpenService, Service } from './service.ts'

/** `open`: opens the database once more, for this thread. */
export function besideWorkers(
  workers: WorkerService,
  model: Model,
  open: () => Promise<OpenService>,
): Service {
  let opened: Promise<Service> | undefined
  const own = () => {
    opened ??= open().then(({ service }) => service)
    return opened
  }
  const as = (user: UserReference) => dataAs(model, async () => (await own()).data.as(user))
  const data = { ...dataAs(model, async () => (await own()).data), as }
  return {
    ...workers,
    data: Object.freeze(data) as unknown as ServiceData,
    handler: refused,
    upgrade: refused,
    async close() {
      await (await opened)?.close()
      await workers.close()
    },
  }
}

function refused(): never {
  throw new TypeError(
    'a service of several threads has no `handler` and no `upgrade`: set `workers` to 1, or send requests to its `url`.',
  )
}
