from misstep.runs import Sweep, runs_of


def sweep(**settings):
    return Sweep.model_validate(
        {
            "log_dir": "logs",
            "evals": [
                {"eval": "misstep/processbench.sample", "each": {"votes": [1, 8]}},
                "misstep/procedural.small",
            ],
            "models": [
                "openai/gpt-4o-mini",
                {"model": "openai/gpt-4o", "roles": {"reward": "a/b"}},
            ],
            **settings,
        }
    )


def test_every_eval_meets_every_model_with_every_argument_and_seed():
    runs = runs_of(sweep(seeds=[1, 2]))
    assert len(runs) == 2 * 2 * 2 + 2 * 2
    assert {(run.eval.eval, run.args.get("votes"), run.label, run.seed) for run in runs} == {
        (eval, votes, model, seed)
        for eval, each in [
            ("misstep/processbench.sample", [1, 8]),
            ("misstep/procedural.small", [None]),
        ]
        for votes in each
        for model in ("openai/gpt-4o-mini", "openai/gpt-4o")
        for seed in (1, 2)
    }


def test_names_differ_and_stay_the_same():
    names = [run.name for run in runs_of(sweep(seeds=[1, 2]))]
    assert len(set(names)) == len(names)
    assert names == [run.name for run in runs_of(sweep(seeds=[1, 2]))]
    assert names[0].startswith("processbench.sample_openai-gpt-4o-mini_votes-1_seed-1_")


def test_what_changes_results_changes_the_name_and_what_does_not_keeps_it():
    [plain, *_] = runs_of(sweep())
    [warmer, *_] = runs_of(sweep(generate_config={"temperature": 1}))
    [elsewhere, *_] = runs_of(sweep(log_dir="s3://bucket/logs"))
    assert warmer.name != plain.name
    assert elsewhere.name == plain.name


def test_settings_go_into_inspects_own_run_configuration():
    runs = runs_of(sweep(seeds=[7], generate_config={"max_tokens": 9}, eval_config={"epochs": 2}))
    config = next(run for run in runs if run.label == "openai/gpt-4o").command.config
    assert config == {
        "model": {"model": "openai/gpt-4o"},
        "model_roles": {"reward": {"model": "a/b"}},
        "generate_config": {"max_tokens": 9, "seed": 7},
        "eval_config": {"epochs": 2},
    }
