/** Tests that start no service. */
import { runTogether } from './run.ts'

await runTogether('small')
