/** The copy of a person's data in the OpenAPI document. */

import { personalDataPath } from '../../../model/builtin/actions.ts'
import type { JsonSchema } from '../../../model/fields/type.ts'
import { maxReasonCharacters } from '../personal-data.ts'
import { prefix } from '../routes.ts'
import type { Document } from './names.ts'
import { idParameter } from './parameters.ts'
import { errors, headerReferences } from './responses.ts'
import { requirements } from './security.ts'

export function personalDataPaths(document: Document): [string, JsonSchema][] {
  const reason = {
    name: 'reason',
    in: 'query',
    schema: { type: 'string', minLength: 1, maxLength: maxReasonCharacters },
    description: 'Required for the data of others: why they are exported. It is written to the log.',
  }
  const get = {
    operationId: document.operationId('export_personal_data_of_user'),
    summary: 'Export the data of a person',
    description:
      'A stream of lines, first the account, then each item that belongs to the person and that they may read: `{"collection":"users","item":{…}}`. An export that ends early breaks the response off. Who may: the person, and administrators; no third-party app. An app of the service itself, or a key that is limited to scopes, gets the data of the caller that its scopes cover.',
    tags: ['users'],
    security: requirements(false),
    parameters: [reason],
    responses: {
      200: {
        // Without `content`: generators of clients refuse `application/x-ndjson`.
        description: 'The data, as `application/x-ndjson`.',
        headers: headerReferences(['Content-Disposition']),
      },
      ...errors('Read'),
    },
  }
  return [[`${prefix}/users/{id}/${personalDataPath}`, { parameters: [idParameter], get }]]
}
