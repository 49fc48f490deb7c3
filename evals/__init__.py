"""The tasks: `eval(processbench(subset="math"), model="openai/gpt-4o-mini")`."""

from misstep.evals.adversarial_numinamath import adversarial_numinamath
from misstep.evals.agent_process import agent_process
from misstep.evals.deltabench import deltabench
from misstep.evals.deltabench_sections import deltabench_sections
from misstep.evals.error_recovery import error_recovery
from misstep.evals.first_errors import first_errors
from misstep.evals.guided_search import guided_search
from misstep.evals.mistake_finding import mistake_finding
from misstep.evals.mr_ben import mr_ben
from misstep.evals.prmbench import prmbench
from misstep.evals.procedural import procedural
from misstep.evals.processbench import processbench
from misstep.evals.who_and_when import who_and_when
