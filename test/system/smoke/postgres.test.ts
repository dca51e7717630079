/** The blog's contract on PostgreSQL. */
import { suite } from 'node:test'
import { blogContract } from '../../api/contract/rest/blog.ts'
import { openStore, postgres } from '../../api/contract/rest/databases.ts'
import { openHarness } from '../../api/contract/rest/harness.ts'

suite('REST on PostgreSQL', () =>
  blogContract(model => openHarness(model, model => openStore(postgres, model))))
