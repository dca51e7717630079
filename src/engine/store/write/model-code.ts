/** What runs the model's own code within writes. */
import type { Watchdog } from '../../../base/watchdog/watchdog.ts'
import type { AsyncSteps } from '../../plan/transaction.ts'
import type { LogicWrite } from './logic.ts'
import type { CheckStep } from './steps.ts'

export interface ReadingChecks extends Pick<AsyncSteps, 'tries' | 'limitMs'> {
  /** The step that runs the check of a collection on a write, and what that then has returned. */
  stepOf(collection: string, write: LogicWrite): CheckRun
}

/** `checks`: undefined only for a model without such checks. */
export interface ModelCode {
  readonly watchdog: Watchdog
  readonly checks?: ReadingChecks | undefined
}

export interface CheckRun {
  readonly step: CheckStep
  readonly returned: () => unknown
}
