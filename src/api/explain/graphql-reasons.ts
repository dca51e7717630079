/** Why the fields of a GraphQL operation are allowed or refused. */
import type { ApiError } from '../../base/errors.ts'
import { eventType } from '../../engine/log/event-types.ts'
import type { Topic } from '../events/subscriber.ts'
import { allowanceReasons } from './allowances.ts'
import type { ReasonParts } from './evaluation.ts'
import { eventReasons } from './event-reasons.ts'
import type { Reason } from './explanation.ts'
import { refusalReasons } from './refusals.ts'

type Path = readonly (string | number)[]

/** An error of the reply. */
export interface GraphqlFault {
  readonly message: string
  readonly code: string
  readonly path?: Path
  /** The error of the field. */
  readonly error?: ApiError
}

export interface GraphqlOutcome {
  /** Of the reply as `application/json`. */
  readonly status: number
  readonly errors: readonly GraphqlFault[]
  /** The topics of a subscription. */
  readonly topics?: readonly Topic[]
}

/** The maximum number of explained errors: further ones add little. */
const maxExplained = 20

/** The path without indexes: the same for a field of every item of a list. */
export function fieldKey(path: Path = []): string {
  return path.filter(key => typeof key === 'string').join(' ')
}

export async function graphqlReasons(
  parts: ReasonParts,
  { errors, topics }: GraphqlOutcome,
): Promise<readonly Reason[]> {
  if (errors.length === 0)
    return topics ? eventReasons(parts, subscriptionSelection(parts, topics)) : allowanceReasons(parts)
  const faults = new Map<string, GraphqlFault>()
  for (const fault of errors) {
    const key = `${fault.code} ${fieldKey(fault.path)}`
    if (!faults.has(key)) faults.set(key, fault)
  }
  const reasons: Reason[] = []
  for (const { error, message, path } of [...faults.values()].slice(0, maxExplained)) {
    const fieldReasons: readonly Reason[] = error
      ? await refusalReasons(parts, error, path?.[0])
      : [{ kind: 'request', message }]
    reasons.push(...fieldReasons.map(reason => (path ? { ...reason, path } : reason)))
  }
  return reasons
}

function subscriptionSelection({ model }: ReasonParts, topics: readonly Topic[]) {
  const collection = model.collections.get(topics[0]?.collection ?? '')
  if (collection === undefined) return { collections: [], includes: () => false, itemId: undefined }
  const [topic] = topics
  const type = topic && eventType(collection, topic.kind)
  return { collections: [collection], includes: (other: string) => other === type, itemId: undefined }
}
