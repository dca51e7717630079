/**
 * The kinds of routes: for each, everything that dispatch, batches and logs ask. A kind without an entry does not compile.
 * Only `routes.ts`, which parses paths, compares kinds.
 */

import { ApiError } from '../../base/errors.ts'
import { personalDataPath } from '../../model/builtin/actions.ts'
import type { Collection, Model, Operation } from '../../model/model.ts'
import { admitBuiltinAction, admitNested, admitSubresource } from './actions/admission.ts'
import {
  answerAction,
  answerBuiltinAction,
  answerQuery,
  preparedAction,
  preparedQuery,
} from './actions/answer.ts'
import { answerSubresource, endSubresource } from './actions/subresources.ts'
import {
  type Admit,
  admitAggregate,
  admitEveryone,
  admitMe,
  admitToCollection,
  admitToOperation,
  admitWithin,
  type HasCollection,
} from './admission.ts'
import {
  type Check,
  checkWrite,
  type Prepare,
  preparedAggregate,
  preparedChange,
  preparedCollection,
  preparedCreation,
  preparedItem,
  preparedMe,
  preparedWithin,
} from './batch/prepare.ts'
import { answerCreate } from './create.ts'
import { answerEvents } from './events/events.ts'
import { answerExplain } from './explain.ts'
import { readFile } from './files/read.ts'
import { fileMethods } from './files/routes.ts'
import { admitUpload, writeFile, writeUpload } from './files/write.ts'
import {
  collectionMethods,
  itemMethods,
  type Methods,
  postMethods,
  readMethods,
  runsMethods,
  subresourceMethods,
} from './methods.ts'
import { collectionsAlong } from './operations.ts'
import { answerPersonalData } from './personal-data.ts'
import { readAggregate, readCollection, readItem, readMe, readNested, readWithin } from './reads.ts'
import type { Route, RouteOf } from './routes.ts'
import { answerRuns } from './runs.ts'
import type { Read, Write } from './services.ts'
import { answerChange } from './write.ts'

export interface RouteKind<R extends Route> {
  readonly methods: (route: R) => Methods
  /** Throws for a caller who may do this to no item at all, before other faults of the request are reported. */
  readonly admit: Admit<R>
  /** Whether `read` and `write` check `Accept` themselves. Otherwise it is checked before them, and must allow JSON. */
  readonly checksAccept: boolean
  /** Whether `read` also answers in the formats of exports. */
  readonly isExported?: true
  /** GET and HEAD. */
  readonly read: Read<R> | undefined
  /** The other methods, except OPTIONS. */
  readonly write: Write<R> | undefined
  /** Whether a write with an `Idempotency-Key` is carried out once. */
  readonly isKeyed: boolean
  /** As an operation of a batch; the error if a batch cannot contain it. */
  readonly batch: Batched<R> | ((route: R) => ApiError)
  /** The item that the path names, for the log of refused requests. */
  readonly item: (route: R) => NamedItem | undefined
}

interface Batched<R> {
  /** GET. */
  readonly read: Prepare<R> | undefined
  /** `check`: throws errors that do not depend on the body, for a write whose body awaits other results. */
  readonly write: { readonly prepare: Prepare<R>; readonly check: Check<R> } | undefined
  /** The collections that the path names, first the one that a write changes. Those of actions are known only while they run. */
  readonly collections: (model: Model, route: R) => readonly Collection[]
  /** The model's own code that it runs. */
  readonly operation: (route: R) => Operation | undefined
}

interface NamedItem {
  readonly collection: Collection
  readonly id: number
}

const nothing = (): undefined => undefined
const itself = <T>(route: T): T => route
const noCollections = (): readonly Collection[] => []
const ownCollection = (_model: Model, { collection }: HasCollection) => [collection]
const ownOperation = ({ operation }: { readonly operation: Operation }) => operation
const notFound = () => new ApiError('NOT_FOUND')
const refusedInBatch = (message: string) => new ApiError('BAD_REQUEST', message)
const onlySeparate = ({ name }: Collection, below: string) =>
  refusedInBatch(`/${name}/{id}/${below} cannot be part of a batch: send it in a separate request.`)

const routeKinds: { readonly [Kind in Route['kind']]: RouteKind<RouteOf<Kind>> } = {
  collection: {
    methods: collectionMethods,
    admit: admitToCollection,
    checksAccept: false,
    isExported: true,
    read: readCollection,
    write: (services, { collection }, call, principal, attempt) =>
      answerCreate(services, services.viewOf(collection.name, principal), call, principal, attempt),
    isKeyed: true,
    batch: {
      read: preparedCollection,
      write: { prepare: preparedCreation, check: checkWrite },
      collections: ownCollection,
      operation: nothing,
    },
    item: nothing,
  },

  item: {
    methods: itemMethods,
    admit: admitToCollection,
    checksAccept: false,
    read: readItem,
    write: (services, { collection, id }, call, principal, attempt) =>
      answerChange(services, services.viewOf(collection.name, principal), id, call, principal, attempt),
    isKeyed: true,
    batch: {
      read: preparedItem,
      write: { prepare: preparedChange, check: checkWrite },
      collections: ownCollection,
      operation: nothing,
    },
    item: itself,
  },

  within: {
    methods: readMethods,
    admit: admitWithin,
    checksAccept: false,
    isExported: true,
    read: readWithin,
    write: undefined,
    isKeyed: false,
    batch: {
      read: preparedWithin,
      write: undefined,
      collections: (model, { collection, relation }) => [collection, ...collectionsAlong(model, relation)],
      operation: nothing,
    },
    item: itself,
  },

  aggregate: {
    methods: readMethods,
    admit: admitAggregate,
    checksAccept: false,
    isExported: true,
    read: readAggregate,
    write: undefined,
    isKeyed: false,
    batch: {
      read: preparedAggregate,
      write: undefined,
      collections: (model, { collection, within }) =>
        within ? [collection, ...collectionsAlong(model, within.relation)] : [collection],
      operation: nothing,
    },
    item: nothing,
  },

  nested: {
    methods: readMethods,
    admit: admitNested,
    checksAccept: false,
    read: readNested,
    write: undefined,
    isKeyed: false,
    batch: ({ relation, nested }) =>
      refusedInBatch(`In a batch, read the item as /${relation.target}/${nested}.`),
    item: itself,
  },

  subresource: {
    methods: subresourceMethods,
    admit: admitSubresource,
    checksAccept: false,
    read: answerSubresource,
    write: endSubresource,
    isKeyed: true,
    batch: ({ collection, subresource }) => onlySeparate(collection, subresource.name),
    item: itself,
  },

  personalData: {
    methods: readMethods,
    admit: admitEveryone,
    checksAccept: true,
    read: answerPersonalData,
    write: undefined,
    isKeyed: false,
    batch: ({ collection }) => onlySeparate(collection, personalDataPath),
    item: itself,
  },

  builtinAction: {
    methods: postMethods,
    admit: admitBuiltinAction,
    checksAccept: false,
    read: undefined,
    write: answerBuiltinAction,
    isKeyed: true,
    batch: ({ collection, action }) => onlySeparate(collection, action.name),
    item: itself,
  },

  action: {
    methods: postMethods,
    admit: admitToOperation,
    checksAccept: false,
    read: undefined,
    write: answerAction,
    isKeyed: true,
    batch: {
      read: undefined,
      write: { prepare: preparedAction, check: nothing },
      collections: noCollections,
      operation: ownOperation,
    },
    item: nothing,
  },

  query: {
    methods: readMethods,
    admit: admitToOperation,
    checksAccept: false,
    read: answerQuery,
    write: undefined,
    isKeyed: false,
    batch: { read: preparedQuery, write: undefined, collections: noCollections, operation: ownOperation },
    item: nothing,
  },

  me: {
    methods: readMethods,
    admit: admitMe,
    checksAccept: false,
    read: readMe,
    write: undefined,
    isKeyed: false,
    batch: {
      read: preparedMe,
      write: undefined,
      collections: ({ collections }) => [...collections.values()].filter(({ name }) => name === 'users'),
      operation: nothing,
    },
    item: nothing,
  },

  openapi: {
    methods: readMethods,
    admit: admitEveryone,
    checksAccept: false,
    read: ({ document }, _route, call) => document(call),
    write: undefined,
    isKeyed: false,
    batch: notFound,
    item: nothing,
  },

  events: {
    methods: readMethods,
    admit: admitEveryone,
    checksAccept: true,
    read: answerEvents,
    write: undefined,
    isKeyed: false,
    batch: () => refusedInBatch('A batch cannot read events.'),
    item: nothing,
  },

  batch: {
    methods: postMethods,
    admit: admitEveryone,
    checksAccept: false,
    read: undefined,
    write: ({ batch }, _route, call, principal, attempt) => batch(call, principal, attempt),
    isKeyed: true,
    batch: () => refusedInBatch('A batch cannot contain another batch.'),
    item: nothing,
  },

  explain: {
    methods: postMethods,
    admit: admitEveryone,
    checksAccept: true,
    read: undefined,
    write: answerExplain,
    isKeyed: false,
    batch: notFound,
    item: nothing,
  },

  file: {
    methods: fileMethods,
    admit: (model, route, principal, operation) =>
      admitToCollection(model, route, principal, operation === 'read' ? 'read' : 'update'),
    checksAccept: true,
    read: readFile,
    write: writeFile,
    // It stores the reply itself, once it knows the body.
    isKeyed: false,
    batch: ({ collection, field }) => onlySeparate(collection, field.name),
    item: itself,
  },

  upload: {
    methods: postMethods,
    admit: admitUpload,
    checksAccept: false,
    read: undefined,
    write: writeUpload,
    isKeyed: false,
    batch: () => refusedInBatch('A batch cannot receive files: upload them first.'),
    item: nothing,
  },

  runs: {
    methods: runsMethods,
    admit: admitEveryone,
    checksAccept: true,
    read: answerRuns,
    write: answerRuns,
    isKeyed: false,
    batch: notFound,
    item: nothing,
  },
}

export function kindOf(route: Route): RouteKind<Route> {
  // Safe: an entry is given only routes of its kind.
  return routeKinds[route.kind] as RouteKind<Route>
}

/** Throws the route's error if a batch cannot contain it. */
export function batchedKind(route: Route): Batched<Route> {
  const { batch } = kindOf(route)
  if (typeof batch === 'function') throw batch(route)
  return batch
}
