/** `portico delete`: deletes an item with everything that depends on it, in slices. A service may run at the same time. */
import { ApiError } from '../../../base/errors.ts'
import { SlicedDeletion } from '../../../delivery/deletions/sliced-deletion.ts'
import { itemShape, readItem } from '../../../engine/plan/system-plans.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { counted } from '../counted.ts'
import { databaseOptions, type OpenedModel, withDatabase } from '../database.ts'
import { Failure } from '../failure.ts'
import type { Command } from './commands.ts'

function collectionOf({ collections }: Model, name: string): Collection {
  const collection = collections.get(name)
  if (collection) return collection
  throw new Failure(`There is no collection \`${name}\`. There are ${[...collections.keys()].join(', ')}.`, 2)
}

async function deleteItem(opened: OpenedModel, name: string, idText: string): Promise<string> {
  const collection = collectionOf(opened.model, name)
  if (!/^[1-9]\d{0,15}$/.test(idText)) throw new Failure(`\`${idText}\` is no id: write a whole number.`, 2)
  const id = Number(idText)
  if ((await readItem(opened.run, itemShape(collection.name, ['id']), id)) === undefined)
    throw new Failure(`There is no item ${id} in ${collection.name}.`)
  const deletion = new SlicedDeletion(opened)
  try {
    await deletion.remove(collection.name, id)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'CONFLICT') throw error
    const before =
      deletion.count === 0
        ? ''
        : ` ${counted(deletion.count, 'item')} that depend on it were deleted or changed before.`
    throw new Failure(`Item ${id} of ${collection.name} was not deleted. ${error.message}${before}`)
  }
  const before = deletion.count === 0 ? '' : `, after ${counted(deletion.count, 'other item')} in slices`
  return `Deleted item ${id} of ${collection.name}${before}\n`
}

export const remove: Command = {
  arguments: ['collection', 'id'],
  options: databaseOptions,
  run: args =>
    withDatabase(args, opened => deleteItem(opened, args.arguments[0] ?? '', args.arguments[1] ?? '')),
}
