/** Checks reactions and jobs. */

import { isObject } from '../../base/json.ts'
import { webhookTypes } from '../builtin/webhooks.ts'
import type { JobDeclaration, LogicDeclaration, ReactionDeclaration } from '../logic/logic.ts'
import { scheduleOf } from '../logic/schedule.ts'
import type { Field, Job, Reaction } from '../model.ts'
import { didYouMean } from '../suggest.ts'
import type { Faults } from './faults.ts'
import { checkedField } from './fields.ts'
import { checkPlainName } from './names.ts'
import { bareOutline, type Outlines } from './outline.ts'
import type { RuleCheck } from './rules.ts'

const maxTypes = 100

/** `emitted`: types of events that actions emit. */
export function reactionsOf(
  declared: LogicDeclaration['reactions'],
  outlines: Outlines,
  emitted: Iterable<string>,
  faults: Faults,
): ReadonlyMap<string, Reaction> {
  const types = new Set([...webhookTypes({ collections: outlines }).keys(), ...emitted])
  const reactions = new Map<string, Reaction>()
  for (const [name, reaction] of Object.entries(declared ?? {})) {
    const place = `reactions.${name}`
    checkPlainName(name, place, faults)
    if (!isReaction(reaction)) {
      faults.add(place, "This is not a reaction. Write `on('task.updated', async ({ event }) => { … })`.")
      continue
    }
    checkTypes(reaction.types, types, place, faults)
    const { run, description } = reaction
    reactions.set(name, { name, types: reaction.types, description, run })
  }
  return reactions
}

function isReaction(value: unknown): value is ReactionDeclaration {
  return isObject(value) && value.kind === 'reaction' && typeof value.run === 'function'
}

function checkTypes(
  types: readonly string[],
  eventTypes: ReadonlySet<string>,
  place: string,
  faults: Faults,
): void {
  if (!Array.isArray(types) || types.length === 0 || types.length > maxTypes) {
    faults.add(place, `Name 1 to ${maxTypes} types of events, e.g. \`on('task.updated', …)\`.`)
    return
  }
  for (const type of types) {
    if (eventTypes.has(type)) continue
    faults.add(
      place,
      `No event has the type \`${type}\`.${didYouMean(String(type), eventTypes)} Write e.g. \`task.created\`, \`task.*\` or \`*\`.`,
    )
  }
}

/** `reactions`: their names must differ from those of jobs. */
export function jobsOf(
  declared: LogicDeclaration['jobs'],
  reactions: ReadonlyMap<string, unknown>,
  rules: RuleCheck,
  faults: Faults,
): ReadonlyMap<string, Job> {
  const jobs = new Map<string, Job>()
  for (const [name, job] of Object.entries(declared ?? {})) {
    const place = `jobs.${name}`
    checkPlainName(name, place, faults)
    if (reactions.has(name)) {
      faults.add(
        place,
        `A reaction has this name, and \`portico reactions\` lists both. Choose another name.`,
      )
    }
    if (!isJob(job)) {
      faults.add(
        place,
        "This is not a job. Write `every('day at 03:00', async ({ data }) => { … })` or `job({ run })`.",
      )
      continue
    }
    jobs.set(name, jobOf(name, job, rules, faults))
  }
  return jobs
}

function isJob(value: unknown): value is JobDeclaration {
  return isObject(value) && value.kind === 'job' && typeof value.run === 'function'
}

function jobOf(name: string, job: JobDeclaration, rules: RuleCheck, faults: Faults): Job {
  const place = `jobs.${name}`
  const { schedule, timeZone = 'UTC', description, run } = job
  if (schedule !== undefined) {
    try {
      scheduleOf(String(schedule), String(timeZone))
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      faults.add(place, error.message)
    }
  }
  return { name, schedule, timeZone, description, input: inputOf(place, job, rules, faults), run }
}

function inputOf(place: string, { input = {}, schedule }: JobDeclaration, rules: RuleCheck, faults: Faults) {
  const outline = bareOutline(place, input)
  const fields = new Map<string, Field>()
  for (const [name, declared] of outline.fields) {
    if (!isObject(declared) || declared.kind !== 'field') {
      faults.add(
        `${place}.input.${name}`,
        'This is not a field. Write one of the field types, e.g. `string()`.',
      )
      continue
    }
    checkPlainName(name, `${place}.input.${name}`, faults)
    const field = checkedField(name, declared, outline, rules, faults)
    fields.set(name, field)
    if (schedule === undefined || field.optional || field.default !== undefined) continue
    faults.add(
      `${place}.input.${name}`,
      'A schedule starts the job without an input. Write `optional: true` or a `default`.',
    )
  }
  return fields
}
