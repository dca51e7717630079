/** The deletion of an app to which more items refer than one transaction may change. */
import { ApiError } from '../../../base/errors.ts'
import { type Principal, system } from '../../../base/principal.ts'
import { CascadeTooLarge } from '../../../engine/plan/cascade-too-large.ts'
import type { Plan, WriteShape } from '../../../engine/plan/plan.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { updateShape } from '../../../engine/plan/system-plans.ts'
import { newClientId } from '../secret.ts'

const setClientId = updateShape('oauth_apps', ['client_id'])

/**
 * The answer of a write of `oauth_apps`. A deletion that is refused because of its size ends the app's access nevertheless: a new
 * client id makes all grants, tokens and keys those of an app that does not exist.
 */
export async function endingAccess<A>(
  run: Run,
  { shape, args }: Plan<WriteShape>,
  { userId }: Principal,
  written: A | Promise<A>,
): Promise<A> {
  try {
    return await written
  } catch (error) {
    // Thrown only after the caller's right to delete the app is checked.
    if (shape.kind !== 'delete' || !(error instanceof CascadeTooLarge)) throw error
    await run.write(
      { shape: setClientId, args: [Number(args[shape.id]), newClientId()] },
      { ...system, userId },
    )
    throw new ApiError('CONFLICT', `The access of the app has ended. ${error.message}`, { cause: error })
  }
}
