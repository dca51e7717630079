/** A service of several threads, as the thread that started them sees it. That thread answers no requests. */

import { withMembers } from '../../engine/logic/data/create-data.ts'
import type { Model } from '../../model/model.ts'
import { type Settings, SettingsError } from '../config/config.ts'
import type { Log } from '../observability/log.ts'
import { startWorkers, type WorkerService } from '../workers/workers.ts'
import { actionsAs, dataAs, type ServiceActions, type ServiceData } from './data.ts'
import type { OpenService, Service, StartOptions } from './service.ts'
import { prepare } from './store.ts'
import type { UserReference } from './typed.ts'

interface SupervisorParts {
  readonly model: Model
  readonly settings: Settings
  readonly log: Log
  /** Opens the database for this thread too. */
  readonly open: (model: Model, settings: Settings, log: Log, options: StartOptions) => Promise<OpenService>
}

/** Starts the threads. This thread reads and writes their database like another node. */
export async function superviseWorkers(
  { listen }: StartOptions,
  { model, settings, log, open }: SupervisorParts,
): Promise<Service> {
  if (listen === false) throw new SettingsError([notListening])
  const workers = await startWorkers({
    ...{ model, settings, log },
    prepare: () => prepare(model, settings, log),
  })
  const ownSettings = { ...settings, autoMigrate: false }
  return supervisedService(workers, model, () =>
    open(model, ownSettings, log, { listen: false, background: false }),
  )
}

const notListening = {
  place: '`workers`',
  message: 'a service with `listen: false` cannot use threads: set it to 1.',
}

/** `open`: opens the database for the `data` of this thread, at the first call. */
export function supervisedService(
  workers: WorkerService,
  model: Model,
  open: () => Promise<OpenService>,
): Service {
  let opened: Promise<Service> | undefined
  let isClosed = false
  const openOwn = () => {
    if (isClosed) throw new Error('The service is closed.')
    opened ??= open().then(
      ({ service }) => service,
      error => {
        // The next call tries again.
        opened = undefined
        throw error
      },
    )
    return opened
  }
  const as = (user: UserReference) => dataAs(model, async () => (await openOwn()).data.as(user))
  const data = { ...dataAs(model, async () => (await openOwn()).data), as }
  const actions = withMembers(
    actionsAs(model, async () => (await openOwn()).actions),
    { as: (user: UserReference) => actionsAs(model, async () => (await openOwn()).actions.as(user)) },
  )
  return {
    ...workers,
    data: Object.freeze(data) as unknown as ServiceData,
    actions: actions as unknown as ServiceActions,
    handler: refuseCall,
    upgrade: refuseCall,
    async close() {
      isClosed = true
      try {
        // A service that could not be opened need not be closed.
        await (await opened?.catch(() => undefined))?.close()
      } finally {
        await workers.close()
      }
    },
  }
}

function refuseCall(): never {
  throw new TypeError(
    'a service of several threads has no `handler` and no `upgrade`: set `workers` to 1, or send requests to its `url`.',
  )
}
