/** Relations: to-one by a field, inverse on the target, many-to-many through a join collection. */
import { isBuiltinPath } from '../builtin/actions.ts'
import { managedCollections } from '../builtin/managed.ts'
import type { ManyToManyDeclaration } from '../declaration.ts'
import { type FieldDeclaration, type Link, optionsOf } from '../fields/declared.ts'
import type { Relation, ToOne } from '../model.ts'
import { didYouMean } from '../suggest.ts'
import type { Faults } from './faults.ts'
import { checkCamelNames, checkFieldName } from './names.ts'
import type { Outline, Outlines } from './outline.ts'
import { checkPersonal, personalDefaults } from './personal.ts'
import { isRefusedField, relationNameOf } from './refused-relations.ts'

function addRelation(outline: Outline, relation: Relation, place: string, faults: Faults): void {
  const { name } = relation
  checkFieldName(name, place, faults)
  if (relation.kind !== 'one' && isBuiltinPath(outline.name, name)) {
    const path = `/${outline.name}/{id}/${name}`
    faults.add(place, `${path} is a built-in path. Choose another name.`)
    return
  }
  const existing = outline.fields.has(name) ? 'field' : outline.relations.has(name) ? 'relation' : undefined
  if (existing === undefined) outline.relations.set(name, relation)
  else
    faults.add(
      place,
      `\`${outline.name}\` already has a ${existing} called \`${name}\`. Choose another name.`,
    )
}

function relationName(field: string, link: Link, place: string, faults: Faults): string | undefined {
  const name = relationNameOf(field, link)
  if (name === undefined)
    faults.add(
      place,
      `The relation needs a name of its own: call the field \`${field}_id\`, or write \`as\`.`,
    )
  return name
}

function findTarget(target: unknown, outlines: Outlines, place: string, faults: Faults): Outline | undefined {
  const outline = outlines.get(String(target))
  if (!outline) {
    const suggestion = didYouMean(String(target), outlines.keys())
    faults.add(place, `There is no collection \`${target}\`.${suggestion}`)
  }
  return outline
}

function addToOne(
  outline: Outline,
  field: string,
  declared: FieldDeclaration,
  defaults: ReadonlyMap<string, boolean>,
  outlines: Outlines,
  faults: Faults,
) {
  const place = `${outline.name}.fields.${field}`
  const { link } = declared
  if (!link) return
  const name = relationName(field, link, place, faults)
  const target = findTarget(link.target, outlines, place, faults)
  if (name === undefined || !target) return
  const { personal = defaults.get(field), onDelete = personal === true ? 'cascade' : 'restrict' } = link
  const marked = personal === undefined ? {} : { personal }
  const relation: ToOne = { kind: 'one', name, target: target.name, field, onDelete, ...marked }
  outline.references.set(field, relation)
  addRelation(outline, relation, `${place}.as`, faults)
  const isOptional = optionsOf(declared).optional === true
  if (target.name === 'oauth_apps' && !managedCollections.has(outline.name)) {
    checkAppReference(onDelete, isOptional, place, faults)
  } else if (onDelete === 'clear' && !isOptional) {
    faults.add(
      `${place}.onDelete`,
      '`clear` empties the field. Write `optional: true` too, or another `onDelete`.',
    )
  }
}

/** Partners delete their apps: that must neither be refused because of other items, nor delete them. */
function checkAppReference(
  onDelete: ToOne['onDelete'],
  isOptional: boolean,
  place: string,
  faults: Faults,
): void {
  faults.addUnless(
    onDelete !== 'cascade' && onDelete !== 'restrict',
    `${place}.onDelete`,
    `Deleting an app would ${onDelete === 'cascade' ? 'delete items' : 'be refused'}. Leave \`onDelete\` out: the field becomes null.`,
  )
  faults.addUnless(
    isOptional,
    place,
    'The field becomes null when the app is deleted, and a caller may have no app. Write `optional: true`.',
  )
}

function addInverse(
  outline: Outline,
  field: string,
  link: Link | undefined,
  outlines: Outlines,
  faults: Faults,
) {
  const target = link && outlines.get(link.target)
  if (!target || link.inverse === undefined) return
  const inverse: Relation = { kind: 'many', name: link.inverse, target: outline.name, field }
  addRelation(target, inverse, `${outline.name}.fields.${field}.inverse`, faults)
}

/** Checks that a field of the join collection refers to the given collection. */
function checkEnd(
  through: Outline,
  field: unknown,
  end: string,
  place: string,
  outlines: Outlines,
  faults: Faults,
): void {
  const link = through.fields.get(String(field))?.link
  if (link?.target === end || isRefusedField(through, String(field), outlines)) return
  const candidates = [...through.fields]
    .filter(([, other]) => other.link?.target === end)
    .map(([name]) => name)
  const write =
    candidates.length > 0 ? `Write \`${candidates.join('` or `')}\`.` : `Add it: \`relation('${end}')\`.`
  faults.add(place, `\`${through.name}.${field}\` is not a relation to \`${end}\`. ${write}`)
}

function addManyToMany(
  outline: Outline,
  name: string,
  join: ManyToManyDeclaration,
  outlines: Outlines,
  faults: Faults,
) {
  const place = `${outline.name}.relations.${name}`
  if (join?.kind !== 'manyToMany') {
    faults.add(place, "Write `manyToMany('tags', { through: 'post_tags', from: 'post_id', to: 'tag_id' })`.")
    return
  }
  const target = findTarget(join.target, outlines, place, faults)
  const through = findTarget(join.through, outlines, `${place}.through`, faults)
  if (!target || !through) return
  checkEnd(through, join.from, outline.name, `${place}.from`, outlines, faults)
  checkEnd(through, join.to, target.name, `${place}.to`, outlines, faults)
  if (join.from === join.to)
    faults.add(`${place}.to`, '`from` and `to` must be two fields of the join collection.')
  addRelation(outline, { ...join, name, target: target.name }, place, faults)
}

/** Adds every relation to the outlines. */
export function findRelations(outlines: Outlines, faults: Faults): void {
  const links = [...outlines.values()].flatMap(outline =>
    [...outline.fields].map(([name, field]) => ({ outline, name, field })),
  )
  const defaults = new Map(
    [...outlines.values()].map(outline => [outline, personalDefaults(outline, outlines, faults)]),
  )
  for (const { outline, name, field } of links)
    addToOne(outline, name, field, defaults.get(outline) ?? new Map(), outlines, faults)
  checkPersonal(outlines, faults)
  for (const outline of outlines.values()) {
    for (const [name, join] of Object.entries(outline.options.relations ?? {})) {
      addManyToMany(outline, name, join, outlines, faults)
    }
  }
  for (const { outline, name, field } of links) addInverse(outline, name, field.link, outlines, faults)
  for (const { name, fields, relations } of outlines.values()) {
    checkCamelNames([...fields.keys(), ...relations.keys()], name, faults)
  }
}
