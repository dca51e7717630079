/** The paths of runs of reactions and jobs. */
import { hasRuns } from '../../delivery/runs/runner.ts'
import type { Model } from '../../model/model.ts'

export interface RunsRoute {
  readonly kind: 'runs'
  readonly action: 'list' | 'retry' | 'skip'
}

const routes: Readonly<Record<string, RunsRoute>> = {
  runs: { kind: 'runs', action: 'list' },
  'runs/retry': { kind: 'runs', action: 'retry' },
  'runs/skip': { kind: 'runs', action: 'skip' },
}

/** `path`: the part after `/events/`. A model without reactions and jobs has no such route. */
export function runsRoute(model: Model, path: string): RunsRoute | undefined {
  return hasRuns(model) && Object.hasOwn(routes, path) ? routes[path] : undefined
}
