/** Tests of accounts and webhooks: each starts services in its own process. */
import { runTogether } from './run.ts'

await runTogether('accounts')
