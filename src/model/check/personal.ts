/** `personal`: which items belong to which person. */
import type { FieldDeclaration } from '../fields/declared.ts'
import type { ToOne } from '../model.ts'
import type { Faults } from './faults.ts'
import type { Outline, Outlines } from './outline.ts'

/** The maximum number of relations from an item to its person. */
const maxRelations = 5

type LinkField = readonly [name: string, declared: FieldDeclaration]

const undeclaredLinks = ({ fields }: Outline): readonly LinkField[] =>
  [...fields].filter(([, { link }]) => link !== undefined && link.personal === undefined)

const isPersonal = ({ options, fields }: Outline) =>
  options.personal === true || [...fields.values()].some(({ link }) => link?.personal === true)

/** The relation that `personal: true` of the collection marks: the only one to `users`, else the only one to what is personal. */
function markedField(outline: Outline, outlines: Outlines, faults: Faults): string | undefined {
  const place = `${outline.name}.personal`
  const leads = (target: string) => {
    const other = outlines.get(target)
    return other !== undefined && other !== outline && isPersonal(other)
  }
  const links = undeclaredLinks(outline)
  const toUsers = links.filter(([, { link }]) => link?.target === 'users')
  const candidates = toUsers.length > 0 ? toUsers : links.filter(([, { link }]) => leads(link?.target ?? ''))
  const [only] = candidates
  if (only === undefined)
    faults.add(
      place,
      'No relation leads to a person. Add one to `users`, or to a collection that is personal.',
    )
  else if (candidates.length > 1) {
    const names = candidates.map(([name]) => `\`${name}\``).join(', ')
    faults.add(
      place,
      `It could mean ${names}. Write \`personal: true\` at the relation to the person instead, and \`personal: false\` at the others.`,
    )
  }
  return candidates.length === 1 ? only?.[0] : undefined
}

/** What `personal` of the collection says of relations that do not say it themselves, by field. */
export function personalDefaults(
  outline: Outline,
  outlines: Outlines,
  faults: Faults,
): ReadonlyMap<string, boolean> {
  const { name, options } = outline
  if (typeof options.personal !== 'boolean' || name === 'users') return new Map()
  const declared = [...outline.fields].find(([, { link }]) => link?.personal === true)?.[0]
  if (declared !== undefined) {
    const message = options.personal
      ? `\`${declared}\` says so already. Remove one of them.`
      : `\`${declared}\` is \`personal: true\`. Remove one of them.`
    faults.add(`${name}.personal`, message)
    return new Map()
  }
  if (!options.personal) return new Map(undeclaredLinks(outline).map(([field]) => [field, false]))
  const field = markedField(outline, outlines, faults)
  return new Map(field === undefined ? [] : [[field, true]])
}

function personalReferences(outline: Outline | undefined): readonly ToOne[] {
  return [...(outline?.references.values() ?? [])].filter(({ personal }) => personal === true)
}

/** The collections to which so many personal relations in a row lead, `users` left out. */
function targetsOf(names: Iterable<string>, outlines: Outlines): ReadonlySet<string> {
  const targets = [...names].flatMap(name =>
    personalReferences(outlines.get(name)).map(({ target }) => target),
  )
  return new Set(targets.filter(target => target !== 'users'))
}

/** All collections on the ways from one to its persons. */
function onTheWay(name: string, outlines: Outlines): ReadonlySet<string> {
  const found = new Set<string>()
  for (let next = targetsOf([name], outlines); next.size > 0; ) {
    for (const target of next) found.add(target)
    next = new Set([...targetsOf(next, outlines)].filter(target => !found.has(target)))
  }
  return found
}

function isTooFar(target: string, outlines: Outlines): boolean {
  let reached: ReadonlySet<string> = new Set([target])
  for (let relations = 1; relations < maxRelations; relations++) reached = targetsOf(reached, outlines)
  return [...reached].some(name => name !== 'users')
}

/** The fault of a personal relation. */
function personalFault({ name }: Outline, { target }: ToOne, outlines: Outlines): string | undefined {
  if (name === 'users') return 'An account belongs to its own person alone. Leave `personal` out.'
  if (target === 'users') return undefined
  const visited = [target, ...onTheWay(target, outlines)]
  if (visited.includes(name)) return `It leads back to \`${name}\`, and so to no person. Remove \`personal\`.`
  const end = visited.find(other => personalReferences(outlines.get(other)).length === 0)
  if (end !== undefined)
    return `The items of \`${end}\` belong to no person. Mark one of its relations \`personal: true\` too, or remove \`personal\` here.`
  // The circle has a fault of its own.
  if (visited.some(other => onTheWay(other, outlines).has(other))) return undefined
  if (!isTooFar(target, outlines)) return undefined
  return `The person is more than ${maxRelations} relations away. Add a relation to \`users\`, and mark that one.`
}

/** Checks that every personal relation leads to a person. */
export function checkPersonal(outlines: Outlines, faults: Faults): void {
  for (const outline of outlines.values()) {
    for (const relation of personalReferences(outline)) {
      const message = personalFault(outline, relation, outlines)
      if (message !== undefined) faults.add(`${outline.name}.fields.${relation.field}.personal`, message)
    }
  }
}
