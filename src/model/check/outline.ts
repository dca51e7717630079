/** The first pass over a declaration: finds collections and fields. */

import { isObject } from '../../base/json.ts'
import {
  apiKeys,
  idField,
  oauthAppSecrets,
  oauthApps,
  timeFields,
  userFields,
  usersWith,
} from '../builtin/builtin.ts'
import { uploads } from '../builtin/uploads.ts'
import { webhookDeliveries, webhooks } from '../builtin/webhooks.ts'
import type { CollectionDeclaration, CollectionOptions, Declaration } from '../declaration.ts'
import type { FieldDeclaration } from '../fields/declared.ts'
import type { LogicDeclaration } from '../logic/logic.ts'
import type { Relation, ToOne } from '../model.ts'
import type { Faults } from './faults.ts'
import { checkCollectionName, checkFieldName, checkPlainName, singularOf } from './names.ts'
import { narrowedField } from './narrowed-fields.ts'
import { scopesOf } from './scopes.ts'

/** A collection that is being checked. */
export interface Outline {
  readonly name: string
  readonly singular: string
  readonly options: CollectionOptions
  /** See `Collection.unlogged`. */
  readonly unlogged: boolean
  readonly fields: ReadonlyMap<string, FieldDeclaration>
  /** The built-in fields. */
  readonly builtin: ReadonlySet<string>
  /** `findRelations` fills it before rules are checked. */
  readonly relations: Map<string, Relation>
  /** To-one relations by the field that holds the id. Filled together with `relations`. */
  readonly references: Map<string, ToOne>
}

/** The outline of values that are not items, so that their fields can be checked. */
export function bareOutline(place: string, fields: Readonly<Record<string, FieldDeclaration>>): Outline {
  return {
    name: place,
    singular: place,
    options: { fields },
    unlogged: true,
    fields: new Map(Object.entries(fields)),
    builtin: new Set(),
    relations: new Map(),
    references: new Map(),
  }
}

export type Outlines = ReadonlyMap<string, Outline>

type CollectionEntry = readonly [name: string, declaration: CollectionDeclaration]

function isCollection(value: unknown): value is CollectionDeclaration {
  return isObject(value) && value.kind === 'collection' && isObject(value.options)
}

function isField(value: unknown): value is FieldDeclaration {
  return isObject(value) && value.kind === 'field' && isObject(value.type)
}

/** Reports values that are not collections and leaves them out. */
function declaredCollections(declaration: Declaration, faults: Faults): readonly CollectionEntry[] {
  return Object.entries(declaration.collections).filter(([name, value]) => {
    if (!isCollection(value)) {
      faults.add(name, 'This is not a collection. Write `collection({ fields: { … } })`.')
      return false
    }
    checkCollectionName(name, name, faults)
    return isExtensionInPlace(name, value, faults)
  })
}

function isExtensionInPlace(name: string, value: CollectionDeclaration, faults: Faults): boolean {
  if (name === 'users' && value.extends !== 'users') {
    faults.add(name, 'The accounts are built in. Extend them with `users({ fields: { … } })`.')
    return false
  }
  if (name !== 'users' && value.extends === 'users') {
    faults.add(name, '`users(…)` extends the built-in `users` only. Write `collection(…)`.')
    return false
  }
  return scopedBuiltins.every(collection => collection.name !== name)
}

function singularFor(name: string, options: CollectionOptions, faults: Faults): string {
  const place = `${name}.singular`
  const { singular = singularOf(name) } = options
  if (singular === undefined) {
    faults.add(
      place,
      `The singular of \`${name}\` cannot be derived. Write it, e.g. \`singular: '${name}_item'\`.`,
    )
    return name
  }
  if (options.singular !== undefined) checkPlainName(singular, place, faults)
  if (singular === name) {
    faults.add(place, 'One item needs another name than the collection. Write another `singular`.')
  }
  return String(singular)
}

/** SQLite's `json_object` takes 500 names with their values; an answer may have relations and aliases besides the fields. */
const maxFields = 400

function checkFieldCount(name: string, { fields, computed }: CollectionOptions, faults: Faults): void {
  const count = Object.keys({ ...fields, ...computed }).length
  faults.addUnless(
    count <= maxFields,
    `${name}.fields`,
    `These are ${count} fields, computed ones included. Write at most ${maxFields}; a \`json()\` field can hold many values.`,
  )
}

function ownFields(
  name: string,
  options: CollectionOptions,
  faults: Faults,
): readonly [string, FieldDeclaration][] {
  if (!isObject(options.fields)) {
    faults.add(`${name}.fields`, 'Write the fields: `fields: { title: string() }`.')
    return []
  }
  checkFieldCount(name, options, faults)
  return Object.entries(options.fields).filter(([field, value]) => {
    const place = `${name}.fields.${field}`
    if (!isField(value)) {
      faults.add(place, 'This is not a field. Write one of the field types, e.g. `string()`.')
      return false
    }
    checkFieldName(field, place, faults)
    return true
  })
}

function outlineOf(
  [name, declaration]: CollectionEntry,
  builtin: readonly string[],
  faults: Faults,
): Outline {
  const { options } = declaration
  const times = Object.entries(timeFields).slice(0, options.updatedAt === true ? 2 : 1)
  return {
    name,
    options,
    unlogged: declaration.unlogged === true,
    singular: singularFor(name, options, faults),
    fields: new Map<string, FieldDeclaration>([
      ['id', idField],
      ...ownFields(name, options, faults),
      ...times,
    ]),
    builtin: new Set(['id', 'created_at', 'updated_at', ...builtin]),
    relations: new Map(),
    references: new Map(),
  }
}

/** Reports changes to built-in fields and options. */
function usersEntry(added: CollectionDeclaration | undefined, faults: Faults): CollectionEntry {
  const builtinFields = Object.entries(userFields).filter(([name]) =>
    Object.hasOwn(added?.options.fields ?? {}, name),
  )
  const narrowed = Object.fromEntries(
    builtinFields.map(([name, field]) => [
      name,
      narrowedField(name, field, added?.options.fields[name], faults),
    ]),
  )
  for (const option of ['singular', 'renamedFrom', 'deprecated', 'personal']) {
    if (added && option in added.options) {
      faults.add(`users.${option}`, 'The collection is built in, so this option cannot be set. Remove it.')
    }
  }
  return ['users', usersWith(added, narrowed)]
}

/** The built-in collections besides `users`. They come last. */
const scopedBuiltins = [
  { name: 'api_keys', singular: 'api_key', options: apiKeys([]).options },
  { name: 'oauth_apps', singular: 'oauth_app', options: oauthApps([]).options },
  { name: 'oauth_app_secrets', singular: 'oauth_app_secret', options: oauthAppSecrets().options },
  { name: 'webhooks', singular: 'webhook', options: webhooks().options },
  { name: 'webhook_deliveries', singular: 'webhook_delivery', options: webhookDeliveries().options },
]

function builtinCollections(
  declared: readonly Outline[],
  logic: LogicDeclaration,
): readonly CollectionEntry[] {
  const scopes = [...scopesOf([...declared, ...scopedBuiltins], logic).keys()]
  return [
    ['api_keys', apiKeys(scopes)],
    ['oauth_apps', oauthApps(scopes)],
    ['oauth_app_secrets', oauthAppSecrets()],
    ['webhooks', webhooks()],
    ['webhook_deliveries', webhookDeliveries()],
    ...(declared.some(hasFiles) ? [['uploads', uploads()] as const] : []),
  ]
}

function hasFiles({ fields }: Outline): boolean {
  return [...fields.values()].some(({ type }) => type.file !== undefined)
}

/** Both plurals and singulars address things by name, so all of them must differ. */
function checkSingulars(outlines: readonly Outline[], faults: Faults): void {
  const owners = new Map(outlines.map(({ name }) => [name, name]))
  for (const { name, singular } of outlines) {
    const other = owners.get(singular)
    if (other === undefined) owners.set(singular, name)
    else if (other !== name) {
      const message = `\`${singular}\` is already a name of \`${other}\`. Write another \`singular\`.`
      faults.add(`${name}.singular`, message)
    }
  }
}

/** All collections of the model: `users`, the declared ones in their order, the built-in ones. */
export function outlinesOf(declaration: Declaration, faults: Faults): Outlines {
  const entries = declaredCollections(declaration, faults)
  const declaredUsers = entries.find(([name]) => name === 'users')?.[1]
  const outlines = [
    outlineOf(usersEntry(declaredUsers, faults), Object.keys(userFields), faults),
    ...entries.filter(([name]) => name !== 'users').map(entry => outlineOf(entry, [], faults)),
  ]
  for (const entry of builtinCollections(outlines, declaration.logic)) {
    const [, { options }] = entry
    outlines.push(outlineOf(entry, Object.keys(options.fields), faults))
  }
  checkSingulars(outlines, faults)
  return new Map(outlines.map(outline => [outline.name, outline]))
}
