/** Subscriptions: a change of an item becomes the reply to it. */
import type { GraphQLFormattedError } from 'graphql'
import type { ApiError } from '../../errors.ts'
import type { LoggedChange } from '../../events/change-feed.ts'
import type { ChangeRenderer } from '../../events/subscriber.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import { type CompositeAnswer, type RenderedAnswer, then } from '../../plan/answer.ts'
import type { Run } from '../../plan/run.ts'
import type { Principal } from '../../principal.ts'
import type { OnFault, Refused } from '../engine.ts'
import { placeOf } from '../plan/reply-fields.ts'
import type { SubscriptionVariant } from '../plan/variant.ts'
import { refused } from '../response.ts'
import { byPlace, Completion } from './completion.ts'

export interface BoundSubscription {
  readonly variant: SubscriptionVariant
  readonly args: readonly JsonValue[]
  readonly cost: number
}

/** What was rendered of an answer, and is cached with it. `reply`: null where the principal may not see the item. */
interface Rendered extends RenderedAnswer {
  readonly reply: string | null
}

/** Refused when the principal may never see what the subscription asks for. */
export function createRenderer(
  run: Run,
  { variant, args, cost }: BoundSubscription,
  principal: Principal,
  onFault: OnFault,
): ChangeRenderer | Refused {
  const { shape, replyField, collection, kind } = variant
  const refusal = byPlace(run.refusals({ shape, args }, principal)).get(placeOf([replyField.key]))
  if (refusal) return refused([refusedField(refusal, replyField.key)])
  const render = (answer: CompositeAnswer): Rendered => {
    const data = JSON.parse(answer.text)
    if (data[replyField.source] === null) return rendered(null)
    const completion = new Completion(byPlace(run.refusals({ shape, args }, principal)), args, onFault)
    return rendered(completion.reply(cost, () => completion.object([replyField], data, undefined)).text)
  }
  return {
    topics: [{ collection: collection.name, kind }],
    render: change =>
      then(run.composite({ shape, args: argsFor(change, args, variant) }, principal), answer => {
        const made = (answer.rendered as Rendered | undefined) ?? render(answer)
        answer.rendered = made
        return made.reply
      }),
  }
}

function rendered(reply: string | null): Rendered {
  return { reply, bytes: 2 * (reply?.length ?? 0) }
}

function argsFor(
  change: LoggedChange,
  args: readonly JsonValue[],
  { id, event }: SubscriptionVariant,
): readonly JsonValue[] {
  const own = [...args]
  own[id] = change.id
  own[event] = change.row
  return own
}

function refusedField({ message, code }: ApiError, key: string): GraphQLFormattedError {
  return { message, path: [key], extensions: { code } }
}
